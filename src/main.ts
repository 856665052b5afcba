#!/usr/bin/env bun
import { raiseFetchCap } from "./cli/serve/raise-fetch-cap.ts";

// Before anything else is loaded: it may start this program again in place, and loading twice takes time.
if (process.argv[2] === "serve") raiseFetchCap();

const { run } = await import("./cli/run.ts");
const { processTerminal } = await import("./cli/terminal/terminal.ts");
process.exitCode = await run(process.argv.slice(2), processTerminal());
