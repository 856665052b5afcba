import { useAnswer } from "../api.ts";
import { Icon } from "./icon.tsx";

/** A list of sentences worth reading; renders nothing if there are none. */
export function Points(props: { label: string; points: readonly string[]; tone?: "warn" | "bad" }) {
  const { label, points, tone = "warn" } = props;
  if (points.length === 0) return null;
  return (
    <div class={`callout ${tone}`}>
      <Icon name="warning" />
      <ul aria-label={label}>
        {points.map((point) => (
          <li key={point}>{point}</li>
        ))}
      </ul>
    </div>
  );
}

export function useWarnings(): readonly string[] {
  const config = useAnswer<{ warnings: readonly string[] }>("/config", 30_000);
  return config.value?.warnings ?? [];
}

/** Warnings about the running configuration, such as a provider that is skipped because its key is not set. */
export function Warnings() {
  return <Points label="Configuration warnings" points={useWarnings()} />;
}
