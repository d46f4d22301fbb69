// The tables of the report, from the server instead of a file.
import { ReportSource } from "../source.js";

export class LiveSource extends ReportSource {
  constructor(link, overview) {
    super();
    this.link = link;
    this.overview = overview;
  }

  // Meshes and maps are made when they are wanted: "mesh-DRAW", "maps-DRAW", "maps-DRAW-FIRST".
  async text(name) {
    const made = /^(?:mesh|maps)-/.test(name);
    return (await this.link.ask(made ? name.replaceAll("-", " ") : `chunk ${name}`)).chunk;
  }

  async details(draw) {
    const found = await super.details(draw), { topology, draw: numbers } = await this.rows();
    return { ...found, counters: { ...found.counters, mesh: topology[draw] ? `mesh-${numbers[draw]}` : null } };
  }
}
