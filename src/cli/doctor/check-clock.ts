import { abortAfter } from "../../base/loop/deadline.ts";
import { plural } from "../../base/text/plural.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const timeoutMs = 3000;
/** Half a minute is what a slow network and the header's whole seconds can explain. */
const explainableMs = 30_000;
/** AWS and most identity providers reject what is signed with a clock that is further off. */
const rejectedMs = 5 * 60_000;

/** Compares this machine's clock with the `date` header of the first provider that sends one. */
export async function checkClock(addresses: readonly string[]): Promise<readonly Finding[]> {
  const dates = addresses.filter((address) => address !== "").map(clockAt);
  const found = (await Promise.all(dates)).find((offset) => offset !== null);
  return found === undefined || found === null ? [] : [judge(found)];
}

interface ClockOffset {
  readonly host: string;
  /** Positive if this machine's clock is ahead. */
  readonly aheadMs: number;
}

/** Sends no credentials. Null if there is no response, or none with a date. */
async function clockAt(baseUrl: string): Promise<ClockOffset | null> {
  try {
    const { origin, host } = new URL(baseUrl);
    const signal = abortAfter(timeoutMs);
    const response = await fetch(origin, { method: "HEAD", redirect: "manual", signal });
    const theirsMs = Date.parse(response.headers.get("date") ?? "");
    return Number.isNaN(theirsMs) ? null : { host, aheadMs: Date.now() - theirsMs };
  } catch {
    return null;
  }
}

function judge({ host, aheadMs }: ClockOffset): Finding {
  const off = Math.abs(aheadMs);
  if (off <= explainableMs) return ok("clock", `the clock agrees with ${host}`);
  const text = `the clock is ${plural(Math.round(off / 1000), "second")} ${aheadMs > 0 ? "ahead of" : "behind"} ${host}`;
  const fix = "synchronize it, e.g. `timedatectl set-ntp true`";
  return off > rejectedMs ? problem("clock", text, fix) : warning("clock", text, fix);
}
