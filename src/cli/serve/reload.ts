import type { StoredPrices } from "../../config/catalog/stored-prices.ts";
import type { CheckedConfig, ReloadConsent, ReloadResult } from "../../config/on-disk.ts";
import type { Settings } from "../../config/settings.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { showWarnings } from "../warnings.ts";
import type { ServiceManager } from "./service-manager.ts";

interface ReloadableGateway {
  reload(settings: Settings, consent: ReloadConsent): Promise<ReloadResult>;
  reportRejectedReload(reason: string): void;
  /** The prices that its store has above the catalog. */
  storedPrices(): Promise<StoredPrices | null>;
}

interface FileReaders {
  /** Throws a ConfigError. */
  load(prices: StoredPrices | null): Promise<Settings>;
  check(prices: StoredPrices | null): Promise<CheckedConfig>;
}

const nothingNew: ReloadResult = { needsRestart: [], newSecrets: [] };

/**
 * Reloads the configuration on SIGHUP, or when the admin API or a command requests it. An invalid configuration is reported,
 * and the old one keeps running. Reloads run one after the other, so that the file read last wins.
 */
export function createReloads({ load, check }: FileReaders, terminal: Terminal, manager: ServiceManager) {
  let running: ReloadableGateway | null = null;
  let last: Promise<unknown> = Promise.resolve();

  function reload(consent: ReloadConsent): Promise<ReloadResult> {
    const reloaded = last.then(() => reloadNow(consent));
    last = reloaded.catch(() => {});
    return reloaded;
  }

  async function reloadNow(consent: ReloadConsent): Promise<ReloadResult> {
    manager.reloading();
    try {
      const settings = await load(await storedPrices());
      const { needsRestart, newSecrets } = (await running?.reload(settings, consent)) ?? nothingNew;
      showWarnings([...settings.warnings, ...needsRestart], terminal);
      for (const file of newSecrets) terminal.note(`the new secret in ${file} is used`);
      const message = `the new configuration is running${needsRestart.length === 0 ? "" : ", except for what needs a restart"}`;
      terminal.note(message);
      manager.ready(message);
      // Returned too, because the caller does not see the warnings printed above and may have a different environment.
      const unserved = settings.skippedModels.map(
        ({ model, reason }) => `model "${model}" is not served: ${reason}`,
      );
      return { needsRestart: [...needsRestart, ...unserved], newSecrets };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      terminal.note(`${terminal.noteStyle.bad("error:")} the old configuration keeps running: ${reason}`);
      running?.reportRejectedReload(reason);
      manager.ready("the new configuration was rejected, the old one keeps running; see the log");
      throw error;
    }
  }

  async function storedPrices(): Promise<StoredPrices | null> {
    return (await running?.storedPrices()) ?? null;
  }

  return {
    check: async () => check(await storedPrices()),
    load,
    reload,
    /** Sets the gateway that reloads apply to. */
    of(gateway: ReloadableGateway): void {
      running = gateway;
    },
    /** For SIGHUP. */
    reloadReporting(): void {
      // The error has been reported.
      reload({ suspendsKeys: false }).catch(() => {});
    },
  };
}
