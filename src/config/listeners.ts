import { type ListenAddress, listenAddress } from "../base/system/open-port.ts";
import type { ProblemList } from "./problems.ts";
import type { Settings } from "./settings.ts";

type Place = Pick<ListenAddress, "host" | "port">;

/** Two listeners at one address would fail with a misleading "address in use". */
export function checkListeners(
  { host, port }: Settings["server"],
  { listen, metricsListen }: Settings["admin"],
  problems: ProblemList,
): void {
  const taken: [name: string, at: Place][] = [["server.port", { host, port }]];
  for (const [name, text] of [
    ["admin.listen", listen],
    ["admin.metrics_listen", metricsListen],
  ] as const) {
    if (text === null || !problems.isValidAt(name)) continue;
    const address = listenAddress(text, name);
    const same = taken.find(([, other]) => areSame(other, address));
    if (same !== undefined) problems.add(name, `${same[0]} is the same one; choose another`);
    taken.push([name, address]);
  }
}

const everyAddress = new Set(["0.0.0.0", "::"]);

function areSame(one: Place, other: Place): boolean {
  if (one.port !== other.port || one.port === 0) return false;
  return one.host === other.host || everyAddress.has(one.host) || everyAddress.has(other.host);
}
