/** A few values at a glance; the exact figures are on a page of their own. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const most = Math.max(0, ...values);
  if (most === 0) return <span class="muted">–</span>;
  const place = { viewBox: `0 0 ${values.length} 1`, preserveAspectRatio: "none" };
  return (
    <svg {...place} class="sparkline" role="img" aria-label={label}>
      {values.map((value, step) => (
        <rect key={step} x={step + 0.15} y={1 - value / most} width={0.7} height={value / most} />
      ))}
    </svg>
  );
}
