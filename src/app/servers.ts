import type { Admin } from "../admin/create.ts";
import type { Gateway } from "../gateway/exchange/gateway.ts";
import { mountPages } from "../http/dashboard.ts";
import { createEdge, type RouteMount } from "../http/edge.ts";
import { listen, listenForAdmin } from "../http/listen.ts";
import type { Log } from "../observe/log.ts";

export interface Servers {
  readonly url: string;
  /** Address of the dashboard; the same as `url`, unless the admin side has its own listener. */
  readonly adminUrl: string;
  /** Rejects new connections from now on; existing ones stay open. */
  rejectConnections(): void;
  /** Closes clients' connections that are idle. */
  closeIdle(): void;
  /** Responses in progress have this long to finish. */
  stop(withinMs: number): Promise<void>;
}

/** Opens the gateway's address and, if configured, a separate one for the admin side. */
export async function openServers(
  gateway: Gateway,
  admin: Admin,
  log: Log,
  opened: AsyncDisposableStack,
): Promise<Servers> {
  const { settings } = gateway.configured;
  const forMembers: readonly RouteMount[] = [admin.mountForMembers, (app) => mountPages(app, "/usage")];
  const forAll: readonly RouteMount[] = [...forMembers, admin.mount, (app) => mountPages(app, "/admin")];
  const ownAddress = settings.admin.listen;
  const server = await listen(
    createEdge(gateway, log, ownAddress === null ? forAll : forMembers),
    settings.server,
  );
  opened.defer(() => server.stop(0));
  const adminServer =
    ownAddress === null
      ? null
      : await listenForAdmin(createEdge(gateway, log, forAll, false), ownAddress, settings.server);
  opened.defer(() => adminServer?.stop(0));
  return {
    url: server.url,
    adminUrl: adminServer?.url ?? server.url,
    rejectConnections: () => server.rejectConnections(),
    closeIdle: () => server.closeIdle(),
    stop: async (withinMs) => {
      await Promise.all([server.stop(withinMs), adminServer?.stop(withinMs)]);
    },
  };
}
