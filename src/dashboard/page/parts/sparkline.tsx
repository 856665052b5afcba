/** The last days of one key at a glance; the exact figures are on its own page. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const most = Math.max(...values);
  if (most === 0) return <span class="muted">–</span>;
  const place = { viewBox: `0 0 ${values.length} 1`, preserveAspectRatio: "none" };
  return (
    <svg {...place} class="sparkline" role="img" aria-label={label}>
      {values.map((value, day) => (
        <rect key={day} x={day + 0.15} y={1 - value / most} width={0.7} height={value / most} />
      ))}
    </svg>
  );
}
