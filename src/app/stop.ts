import type { Admin } from "../admin/create.ts";
import { GatewayError } from "../base/errors.ts";
import { shuttingDown } from "../base/requests/gateway-endings.ts";
import type { Gateway } from "../gateway/exchange/gateway.ts";
import type { Servers } from "./servers.ts";
import type { Services } from "./services.ts";

/** How long charging interrupted exchanges can take after the grace time. */
const interruptedGraceMs = 5000;

/** How long sending the last bytes of responses can take after the grace time. */
const lastBytesMs = 1000;

/**
 * How long requests of a proxy are still accepted on its kept-alive connections. It may have begun to send a request
 * and must not resend it elsewhere. After its first rejected connection, or the first response that closes one, it
 * sends no more.
 */
const proxysLastCallsMs = 1000;

interface Running {
  readonly gateway: Gateway;
  readonly services: Services;
  readonly admin: Admin;
  readonly servers: Servers;
  stopUpkeep(): Promise<void>;
  /** Closes all that the start has opened. */
  readonly opened: AsyncDisposableStack;
}

/**
 * Finishes what runs, within the grace time; then in-band errors, settled, or 503; then closes. Returns what could not
 * be put on disk, in sentences.
 */
export async function stopGateway(running: Running): Promise<readonly string[]> {
  const { gateway, services, admin, servers, stopUpkeep, opened } = running;
  const { clock, logs, backend } = services;
  const { shutdownGraceMs } = gateway.configured.settings.server;
  const graceEndsMs = clock.monotonicMs() + shutdownGraceMs;
  gateway.ongoing.isDraining = true;
  if (gateway.ongoing.isBehindProxy) await takeLastCalls(servers);
  await drain(gateway, graceEndsMs - clock.monotonicMs());
  gateway.sockets.closeAll();
  try {
    // Ends the dashboards' live feeds, for which the servers would wait.
    await admin.close();
    // Whole answers are charged before they leave, so their readers may still be busy within the grace time.
    await servers.stop(Math.max(graceEndsMs - clock.monotonicMs(), lastBytesMs));
    await stopUpkeep();
  } finally {
    // Whatever else has failed: what waits is written, and another gateway can have the data.
    await opened.disposeAsync();
  }
  const losses = backend.describeLosses();
  for (const loss of losses) logs.log.fatal(loss);
  return losses;
}

async function takeLastCalls(servers: Servers): Promise<void> {
  servers.rejectConnections();
  await Bun.sleep(proxysLastCallsMs);
  servers.closeIdle();
}

async function drain({ ongoing, largeBodies }: Gateway, graceMs: number): Promise<void> {
  if (await ongoing.drained(graceMs)) return;
  const error = new GatewayError("service_unavailable", shuttingDown);
  ongoing.interruptAll(error);
  largeBodies.rejectRequests(error);
  await ongoing.drained(interruptedGraceMs);
}
