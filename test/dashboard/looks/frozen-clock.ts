/** Preloaded into a gateway: its calendar stands still, so that the same data look the same on any day. */
const frozenMs = Number(process.env["SLUICE_TEST_NOW"]);
const RealDate = Date;

class FrozenDate extends RealDate {
  constructor(...given: readonly unknown[]) {
    // The constructor of dates takes what it is given, or nothing for now.
    super(...((given.length === 0 ? [frozenMs] : given) as [number]));
  }

  static override now(): number {
    return frozenMs;
  }
}

globalThis.Date = FrozenDate as DateConstructor;
