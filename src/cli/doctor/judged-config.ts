import { configTextDocument, runningConfigOf } from "../../admin/config/config-text.ts";
import type { ConfigCheckView, ConfigTextView } from "../../admin/config/schema.ts";
import { checkProviderKeys } from "../../admin/models/check-provider-keys.ts";
import type { ProviderKeyCheckView } from "../../admin/models/schema.ts";
import { plural } from "../../base/text/plural.ts";
import type { CheckedConfig } from "../../config/on-disk.ts";
import { type OperationClient, OperationRejected } from "../operations/client.ts";
import { configFindings } from "./check-config.ts";
import { providerFindings } from "./check-providers.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

/** The configuration and its providers, as seen by the process that uses them. */
export interface JudgedConfig {
  /** As written, without secrets; null if it cannot be read. */
  readonly toml: string | null;
  readonly findings: readonly Finding[];
  readonly addresses: readonly string[];
}

/** With the secrets of this shell, for a gateway that does not run. */
export async function judgeHere(checked: CheckedConfig): Promise<JudgedConfig> {
  const { settings } = checked;
  const config = configFindings(checked);
  if (settings === null) return { toml: null, findings: config, addresses: [] };
  const checks = await checkProviderKeys(settings);
  // Why a provider is skipped is among the findings of the configuration.
  const keys = providerFindings(checks.filter(({ state }) => state !== "skipped"));
  const toml = configTextDocument(runningConfigOf(settings)).toml.trimEnd();
  return { toml, findings: [...config, ...keys], addresses: addressesOf(checks) };
}

/** By the running gateway, with its own secrets: the shell of an operator rarely has them. */
export async function judgeRunning(client: OperationClient): Promise<JudgedConfig> {
  try {
    const [{ data: checks }, config, { toml }] = await Promise.all([
      client.get<{ data: readonly ProviderKeyCheckView[] }>("/providers/check"),
      checkedFile(client),
      client.get<ConfigTextView>("/config/toml"),
    ]);
    const findings = [...config, ...providerFindings(checks)];
    return { toml: toml.trimEnd(), findings, addresses: addressesOf(checks) };
  } catch (error) {
    if (!(error instanceof OperationRejected)) throw error;
    return { toml: null, findings: [warning("config", error.message)], addresses: [] };
  }
}

/** What a reload would find. A gateway without a file runs the built-in configuration, which is no mistake. */
async function checkedFile(client: OperationClient): Promise<readonly Finding[]> {
  const found = await client.get<ConfigCheckView>("/config/check").catch((error: unknown) => {
    if (error instanceof OperationRejected) return null;
    throw error;
  });
  if (found === null || found.file === null)
    return [ok("config", "the gateway runs the built-in configuration")];
  const { file, problems, warnings, changes } = found;
  if (problems.length > 0)
    return problems.map(({ where, message }) =>
      problem("config", `${file}: ${where === "" ? "" : `${where}: `}${message}`),
    );
  const unloaded =
    changes.length === 0
      ? ok("config", `the gateway runs ${file}`)
      : warning(
          "config",
          `${file} has ${plural(changes.length, "change")} that the gateway does not run yet`,
          "`sluice config diff` shows them, `sluice config reload` applies them",
        );
  // Skipped providers are findings of their own.
  const others = warnings.filter((text) => !/^provider "[^"]*" is skipped: /.test(text));
  return [unloaded, ...others.map((text) => warning("config", text))];
}

function addressesOf(checks: readonly ProviderKeyCheckView[]): readonly string[] {
  return checks.flatMap(({ base_url: address }) => address ?? []);
}
