#!/usr/bin/env bun
import { applyRuntimeSettings } from "./cli/serve/runtime-settings.ts";

// Before anything else is loaded: it may start this program again in place, and loading twice takes time.
if (process.argv[2] === "serve") applyRuntimeSettings();

const { run } = await import("./cli/run.ts");
const { processTerminal } = await import("./cli/terminal/terminal.ts");
process.exitCode = await run(process.argv.slice(2), processTerminal());
