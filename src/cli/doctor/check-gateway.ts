import { abortAfter } from "../../base/loop/deadline.ts";
import { servedAddress, servedPid } from "../serve/files-for-commands.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const timeoutMs = 3000;

/** Whether the gateway of this data folder runs, and responds. */
export async function checkGateway(dir: string): Promise<readonly Finding[]> {
  const address = servedAddress(dir);
  const pid = servedPid(dir);
  if (address === null || pid === null) return [ok("gateway", `no gateway is running on ${dir}`)];
  return [await askReady(address, pid)];
}

async function askReady(address: string, pid: number): Promise<Finding> {
  const running = `the gateway (process ${pid}) at ${address}`;
  try {
    // Bun would use a proxy from the environment for 127.0.0.1 too.
    const session = new Bun.FetchSession({ proxy: false });
    const response = await fetch(`${address}/readyz`, { signal: abortAfter(timeoutMs), session });
    if (response.ok) return ok("gateway", `${running} accepts requests`);
    const fix = "`sluice status` and its log show why";
    return problem("gateway", `${running} does not accept requests (status ${response.status})`, fix);
  } catch (error) {
    if (error instanceof Error && error.name === "TimeoutError") {
      const fix = `restart it; if it is stopped, \`kill -CONT ${pid}\` continues it`;
      return problem("gateway", `${running} does not respond within ${timeoutMs / 1000} s`, fix);
    }
    // A process that ended without tidying up may have had its number reused by a different program.
    return warning(
      "gateway",
      `nothing listens at ${address}, where the last gateway did`,
      "start it: `sluice serve`",
    );
  }
}
