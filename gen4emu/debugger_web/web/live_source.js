// The tables of the report, from the server instead of a file.
import { ReportSource } from "../source.js";

export class LiveSource extends ReportSource {
  constructor(link, overview) {
    super();
    this.link = link;
    this.overview = overview;
  }

  async text(name) { return (await this.link.ask(`chunk ${name}`)).chunk; }
}
