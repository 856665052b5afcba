import { billedUnit } from "../../base/text/plural.ts";
import { creationDetail } from "../key-terms/change-detail.ts";
import { iso } from "../moments.ts";
import { writeAudit } from "../routes/mount.ts";
import { type AdminRoute, post } from "../routes/route.ts";
import { issuePlaygroundSecret } from "./issue-secret.ts";
import { type PlaygroundView, playgroundBody, playgroundView } from "./schema.ts";

export const playgroundRoutes: readonly AdminRoute[] = [
  post(
    "/playground/keys",
    "Send requests for a key or an account, for an hour and a small amount",
    { body: playgroundBody, answers: playgroundView },
    async (call) => {
      const { deps, body } = call;
      const { secret, key, created, limit, endsAtMs } = await issuePlaygroundSecret(deps, body);
      if (created !== null) {
        const detail = creationDetail(created, 0);
        await writeAudit(call, { action: "key.create", target: created.prefix, detail });
      }
      await deps.applyChanges();
      const { id, label, prefix, mode } = key;
      const answer: PlaygroundView = {
        ...{ key: secret, key_id: id, label, prefix, mode, limit },
        expires_at: iso(endsAtMs),
      };
      const detail = `at most ${limit} ${billedUnit(mode, limit)} until ${iso(endsAtMs)}`;
      return { answer, change: { action: "playground.open", target: prefix, detail } };
    },
  ),
];
