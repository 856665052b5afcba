import { hostname, networkInterfaces } from "node:os";

export interface OwnAddress {
  readonly host: string;
  readonly port: number;
}

/** Whether an address leads back to this gateway: a vendor there would call itself without end. */
export function isGatewayItself(address: URL, { host, port }: OwnAddress): boolean {
  const usualPort = address.protocol === "https:" ? 443 : 80;
  if (Number(address.port || usualPort) !== port) return false;
  const named = address.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  if (/^127\.|^localhost$|\.localhost$/.test(named)) return true;
  const own = [host, "0.0.0.0", "::", "::1", hostname(), ...machineAddresses()];
  return own.some((each) => each.toLowerCase() === named);
}

function machineAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address));
}
