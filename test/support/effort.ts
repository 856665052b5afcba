/** `SLUICE_SOAK=1`: as many cases as a night has. */
export const isSoak = process.env["SLUICE_SOAK"] === "1";

/** `bun run test:fast`: a few cases, because somebody waits for them. */
export const isFast = process.env["SLUICE_TEST_FAST"] === "1";
