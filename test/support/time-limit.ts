import { setDefaultTimeout } from "bun:test";

/**
 * Loaded before all tests: a file that is run by itself has the time that it has in a whole run. It ends hung tests, and is no measure
 * of speed. Bun forgets it after the first file, unless each file is isolated.
 */
setDefaultTimeout(120_000);
