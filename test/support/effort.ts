/** `SLUICE_SOAK=1`: as many cases as a night has. */
export const isSoak = process.env["SLUICE_SOAK"] === "1";

/** `bun run test:fast`: a few cases, for a quick result. */
export const isFast = process.env["SLUICE_TEST_FAST"] === "1";

/** From one place at which a stream is cut to the next: at every byte, or at a few of each event. */
export const placeStep = isFast ? 11 : 1;
