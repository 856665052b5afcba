import { plural } from "../../base/text/plural.ts";
import type { CheckedConfig } from "../../config/on-disk.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

/** Everything that `sluice config check` reports. */
export function configFindings(checked: CheckedConfig): readonly Finding[] {
  const { file, origin, settings, problems, warnings, missingSecrets } = checked;
  // Without a file the built-in configuration runs, which is no mistake.
  const real = file === null ? [] : problems;
  const findings = [
    ...real.map(({ path, where = path, message }) =>
      problem("config", where === "" ? `${origin}: ${message}` : `${origin}: ${where}: ${message}`),
    ),
    ...missingSecrets.map((reason) => problem("config", reason, "set it where the gateway runs")),
    ...warnings.map((text) => warning("config", text)),
  ];
  if (real.length > 0) return findings;
  const providers = plural(settings?.providers.size ?? 0, "provider");
  const models = plural(settings?.models.length ?? 0, "model");
  return [ok("config", `${origin} can be loaded: ${providers}, ${models}`), ...findings];
}
