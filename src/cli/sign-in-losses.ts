import type { SignInLosses } from "../admin/access/lost-sign-ins.ts";
import type { CheckedConfig } from "../config/on-disk.ts";
import type { DataOptions } from "./help.ts";
import { withStore } from "./open-store.ts";
import type { Terminal } from "./terminal/terminal.ts";

const none: SignInLosses = { keys: 0, people: [] };

/** The keys that this configuration would suspend. None without a database that can be read; the gateway itself rejects the reload. */
export async function lossesOnDisk(
  { settings, file }: CheckedConfig,
  options: DataOptions,
  terminal: Terminal,
): Promise<SignInLosses> {
  if (settings === null) return none;
  const { signInLosses } = await import("../admin/access/lost-sign-ins.ts");
  const config = options.config ?? file ?? undefined;
  try {
    return await withStore(terminal, { ...options, ...(config === undefined ? {} : { config }) }, (context) =>
      signInLosses(context, settings.admin),
    );
  } catch {
    return none;
  }
}
