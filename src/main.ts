#!/usr/bin/env bun
import { run } from "./cli/run.ts";
import { processTerminal } from "./cli/terminal/terminal.ts";

process.exitCode = await run(process.argv.slice(2), processTerminal());
