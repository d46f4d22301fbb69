// Shows a report of two executions.
import { App, PANES } from "./app.js";
import { ComparePane } from "./compare.js";
import { ReportSource } from "./source.js";

new App(new ReportSource(), [...PANES, ["compare", ComparePane]]).start();
