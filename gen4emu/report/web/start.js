// Shows a report.
import { App } from "./app.js";
import { ReportSource } from "./source.js";

new App(new ReportSource()).start();
