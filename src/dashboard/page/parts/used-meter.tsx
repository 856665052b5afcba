interface UsedMeterProps {
  readonly amount: number;
  readonly limit: number;
  readonly label: string;
}

/** The used share of a limit. The color warns in addition to the numbers. */
export function UsedMeter({ amount, limit, label }: UsedMeterProps) {
  const share = limit === 0 ? 1 : Math.max(0, amount / limit);
  const tone = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "info";
  return <meter class={tone} min={0} max={1} value={Math.min(1, share)} aria-label={label} />;
}
