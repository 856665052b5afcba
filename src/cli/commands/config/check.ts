import type { Command } from "commander";
import { problemViews } from "../../../admin/config/config-check.ts";
import type { ConfigCheckView } from "../../../admin/config/schema.ts";
import { OperationError } from "../../../admin/context.ts";
import { plural } from "../../../base/text/plural.ts";
import { laterPriceNotes } from "../../../catalog/price-notes.ts";
import { batchPriceNotes } from "../../../config/batch-prices.ts";
import type { CheckedConfig } from "../../../config/on-disk.ts";
import type { Settings } from "../../../config/settings.ts";
import { type ConfigOptions, newConfigCommand } from "../../help.ts";
import { lossesOnDisk } from "../../sign-in-losses.ts";
import { CommandFailed, printJson, type Terminal } from "../../terminal/terminal.ts";
import { showWarnings } from "../../warnings.ts";

interface Options extends ConfigOptions {
  readonly strict?: true;
  readonly allowMissingSecrets?: true;
}

export function configCheckCommand(terminal: Terminal): Command {
  return newConfigCommand("check", "Check the configuration and list all problems")
    .argument("[file]", "the file to check; the same as --config")
    .option("--strict", "fail on warnings too")
    .option("--allow-missing-secrets", "pass without secrets that are set only where the gateway runs")
    .examples(
      "sluice config check",
      ["sluice config check --strict staging.toml", "before you deploy it"],
      ["sluice config check --allow-missing-secrets", "in CI, which does not have the providers' keys"],
      ["sluice config check staging.toml && kill -HUP $(pidof sluice)", "reload only a valid file"],
    )
    .action(async (file: string | undefined, options: Options) => {
      const { checkConfig } = await import("../../check-config.ts");
      const { env, cwd } = terminal;
      const checked = await withOutsideWarnings(
        relevant(checkConfig({ file: file ?? options.config, env, cwd }), options),
        options,
        terminal,
      );
      const hasMissingSecrets = !options.allowMissingSecrets && checked.missingSecrets.length > 0;
      const hasWarning = options.strict && checked.warnings.length > 0;
      const isClean = checked.problems.length === 0 && !hasMissingSecrets && !hasWarning;
      if (options.json) printJson(documentOf(checked, isClean), terminal);
      else show(checked, isClean, terminal);
      if (hasMissingSecrets) terminal.note(missingSecretsText(checked.missingSecrets));
      if (!isClean) throw new CommandFailed();
    });
}

/** Drops problems that exist only because this is not the gateway's machine. */
function relevant(checked: CheckedConfig, { allowMissingSecrets }: Options): CheckedConfig {
  if (!allowMissingSecrets) return checked;
  return { ...checked, problems: checked.problems.filter(({ isMissingSecret }) => !isMissingSecret) };
}

/** Warnings that need the store or the identity provider, e.g. that the account for members' keys does not exist. */
async function withOutsideWarnings(
  checked: CheckedConfig,
  options: ConfigOptions,
  terminal: Terminal,
): Promise<CheckedConfig> {
  const { lossesText } = await import("../../../admin/access/lost-sign-ins.ts");
  const suspended = lossesText(await lossesOnDisk(checked, options, terminal));
  const losses = suspended === null ? [] : [`admin: ${suspended}`];
  const provider = await identityProviderWarning(checked);
  const warnings = [
    ...checked.warnings,
    ...losses,
    ...provider,
    ...(await memberAccountWarning(checked, options, terminal)),
  ];
  return { ...checked, warnings };
}

/** Asks the identity provider for its addresses, as the first sign-in does. */
async function identityProviderWarning({ settings }: CheckedConfig): Promise<readonly string[]> {
  const oidc = settings?.admin.oidc ?? null;
  if (oidc === null) return [];
  const { OidcSignIn } = await import("../../../admin/auth/oidc/sign-in.ts");
  const problem = await new OidcSignIn().findProblem(oidc);
  return problem === null ? [] : [`admin.oidc.issuer: ${problem}`];
}

async function memberAccountWarning(
  checked: CheckedConfig,
  options: ConfigOptions,
  terminal: Terminal,
): Promise<readonly string[]> {
  const terms = checked.settings?.admin.memberKeys ?? [];
  if (terms.length === 0 || checked.file === null) return [];
  const { withStore } = await import("../../open-store.ts");
  const { findAccount } = await import("../../../admin/accounts/accounts.ts");
  const warnings: string[] = [];
  // Without data there are no accounts yet.
  await withStore(terminal, { ...options, config: checked.file }, async (store) => {
    for (const { account } of terms) {
      const problem = await findAccount(store, account).then(() => null, operationMessage);
      if (problem === null) continue;
      warnings.push(`admin.member_keys.account: ${problem}; create it, or members cannot create keys`);
    }
  }).catch(() => {});
  return warnings;
}

/** Throws any other error. */
function operationMessage(error: unknown): string {
  if (error instanceof OperationError) return error.message;
  throw error;
}

function missingSecretsText(reasons: readonly string[]): string {
  return (
    `✗ ${reasons.join(", ")}; set ${reasons.length === 1 ? "it" : "them"}, ` +
    "or pass --allow-missing-secrets to check the file without"
  );
}

function documentOf({ file, settings, problems, warnings, missingSecrets }: CheckedConfig, isClean: boolean) {
  const served = {
    providers: [...(settings?.providers.keys() ?? [])],
    models: settings?.models.map(({ id }) => id),
  };
  return {
    ok: isClean,
    file,
    ...(problems.length === 0 ? served : { problems }),
    warnings,
    notes: settings === null ? [] : notesOn(settings),
    missing_secrets: missingSecrets,
  };
}

function notesOn(settings: Settings): string[] {
  return [...laterPriceNotes(settings, Date.now()), ...batchPriceNotes(settings)];
}

function show(
  { origin, settings, problems, warnings }: CheckedConfig,
  isClean: boolean,
  terminal: Terminal,
): void {
  if (problems.length > 0) terminal.note(invalidText(origin, problemViews(problems), terminal));
  if (!isClean) {
    showWarnings(warnings, terminal);
    if (problems.length === 0 && warnings.length > 0)
      terminal.note(`${terminal.noteStyle.bad("✗")} ${plural(warnings.length, "warning")} in ${origin}`);
    return;
  }
  const { style } = terminal;
  const providers = plural(settings?.providers.size ?? 0, "provider");
  const models = plural(settings?.models.length ?? 0, "model");
  terminal.print(`${style.good("✓")} ${origin} is valid: ${providers}, ${models}`);
  for (const warning of warnings) terminal.print(`${style.warn("!")} ${warning}`);
  const notes = settings === null ? [] : notesOn(settings);
  for (const note of notes) terminal.print(`${style.dim("·")} ${note}`);
}

export function invalidText(
  origin: string,
  problems: readonly Pick<ConfigCheckView["problems"][number], "where" | "message">[],
  { noteStyle }: Terminal,
): string {
  const lines = problems.map(({ where, message }) =>
    where === "" ? `  ${message}` : `  ${noteStyle.bold(where)}: ${message}`,
  );
  return [`${noteStyle.bad("✗")} ${plural(problems.length, "problem")} in ${origin}`, ...lines].join("\n");
}
