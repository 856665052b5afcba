import { Repeating } from "../base/loop/repeating.ts";
import { recoverBackgrounds, type Serving } from "../gateway/background/recover.ts";
import type { Gateway } from "../gateway/exchange/gateway.ts";
import { generate } from "../gateway/generate.ts";
import { routes } from "../gateway/operations.ts";
import { storedDialect } from "../gateway/turns/storage-settings.ts";
import { respond } from "../http/respond.ts";
import type { Log } from "../observe/log.ts";

/** How soon a cancellation by another gateway, and a response of a gateway that is gone, are noticed. */
const [cancelEveryMs, recoverEveryMs] = [200, 1000];

/** Takes over background responses of earlier processes, and of gateways that are gone. */
export function startBackgrounds(gateway: Gateway, log: Log): () => Promise<void> {
  const { backgrounds } = gateway;
  const serving: Serving = {
    gateway,
    routeAt: (path) => routes.find((route) => route.path === path && route.dialect === storedDialect) ?? null,
    respond: (call) =>
      respond(gateway, call, { run: (_, exchange) => generate(gateway, exchange, storedDialect) }),
  };
  const onError = (err: unknown) => log.warn({ err }, "background responses could not be maintained");
  const recover = () => recoverBackgrounds(serving).catch(onError);
  const [cancelling, recovering] = [new Repeating(), new Repeating()];
  void recover();
  if (backgrounds.store.nodes !== null) {
    cancelling.start(cancelEveryMs, () => backgrounds.cancelRequested().catch(onError));
    recovering.start(recoverEveryMs, () => (gateway.ongoing.isDraining ? undefined : recover()));
  }
  return async () => {
    await cancelling.stop();
    await recovering.stop();
  };
}
