import { api } from "../api.ts";
import { useLoaded } from "../loaded.ts";
import { Icon } from "./icon.tsx";

/** What the configuration in force was warned of, such as a provider that is left out because its key is not set. */
export function Warnings() {
  const config = useLoaded("warnings", () => api.get<{ warnings: readonly string[] }>("/config"), 30_000);
  const warnings = config.value?.warnings ?? [];
  if (warnings.length === 0) return null;
  return (
    <div class="warnings">
      <Icon name="warning" />
      <ul aria-label="Warnings of the configuration">
        {warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    </div>
  );
}
