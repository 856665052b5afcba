import { readFileSync } from "node:fs";
import { version } from "../../package.json";

/** install.sh for one release. Without an address, whoever runs it has to name one. */
export function installScript(address: string): string {
  const text = readFileSync(new URL("./install.sh", import.meta.url), "utf8");
  return text.replace("@VERSION@", version).replace("@ADDRESS@", address);
}
