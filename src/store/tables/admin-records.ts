import type {
  AdminRecords,
  AdminTokenRecord,
  AuditRecord,
  PricesRecord,
  SessionRecords,
} from "../admin-records.ts";
import type { BoundKey, DeviceGrant, DeviceRecords, SignedInKey } from "../device-records.ts";
import { Parameters, type Queries, type Query, query } from "../query.ts";
import { StoreError } from "../store-error.ts";
import { partPattern } from "./key-search.ts";
import { storedPlayground } from "./playground-table.ts";
import { lockRevision } from "./revision.ts";
import { any, type Flagged, first, firstAs, unflagged } from "./rows.ts";
import { storedSignIns } from "./sign-in-table.ts";

const columns = `device_hash AS "deviceHash", user_code AS "userCode", address, purpose, client, mode, device,
  created_at_ms::float8 AS "createdAtMs", ends_at_ms::float8 AS "endsAtMs", state,
  polled_at_ms::float8 AS "polledAtMs", interval_ms::float8 AS "intervalMs"`;

const tokenColumns = `id, label, role, hash, created_by AS "createdBy", created_at_ms::float8 AS "createdAtMs",
  revoked_at_ms::float8 AS "revokedAtMs", identity`;

/** `scan` runs statements that go through many rows. */
export function storedAdmin(queries: Queries, scan: Query, sessions: SessionRecords | null): AdminRecords {
  const { read, change, changeTogether } = queries;
  const readAdminToken = () =>
    read<{ hash: string; isTrial: number }>('SELECT hash, is_trial AS "isTrial" FROM admin_token').then(
      firstAs((row) => unflagged(row, "isTrial")),
    );
  return {
    sessions,
    devices: storedDevices(queries),
    signIns: storedSignIns(queries),
    playground: storedPlayground(queries),

    async appendAudit({ atMs, actor, address, action, target, detail }) {
      await change(
        `INSERT INTO audit_log (at_ms, actor, address, action, target, detail)
        VALUES ($1::int8, $2, $3, $4, $5, $6)`,
        [atMs, actor, address, action, target, detail],
      );
    },

    listAudit({ beforeId, sinceMs, untilMs, search, limit }) {
      const parameters = new Parameters();
      const conditions = [`id < ${parameters.add(beforeId ?? Number.MAX_SAFE_INTEGER)}`];
      if (sinceMs !== undefined) conditions.push(`at_ms >= ${parameters.add(sinceMs)}`);
      if (untilMs !== undefined) conditions.push(`at_ms < ${parameters.add(untilMs)}`);
      if (search !== undefined) {
        conditions.push(`${searched} ILIKE ${parameters.add(partPattern(search))} ESCAPE '\\'`);
      }
      const isSearch = search !== undefined || sinceMs !== undefined || untilMs !== undefined;
      return (isSearch ? scan : read)<AuditRecord>(
        `SELECT id::float8 AS id, at_ms::float8 AS "atMs", actor, address, action, target, detail
        FROM audit_log WHERE ${conditions.join(" AND ")} ORDER BY id DESC LIMIT ${parameters.add(limit)}`,
        parameters.all,
      );
    },

    readAdminToken,

    async saveAdminToken({ hash, isTrial }) {
      await change(
        `INSERT INTO admin_token (id, hash, is_trial) VALUES (1, $1, $2::int)
        ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, is_trial = excluded.is_trial
          WHERE admin_token.is_trial > excluded.is_trial`,
        [hash, Number(isTrial)],
      );
      return (await readAdminToken())?.hash ?? hash;
    },

    async addTrialKey(keyId) {
      await change("INSERT INTO trial_keys (key_id) VALUES ($1)", [keyId]);
    },

    async listTrialKeys() {
      const rows = await read<{ id: string }>('SELECT key_id AS "id" FROM trial_keys ORDER BY key_id');
      return rows.map(({ id }) => id);
    },

    readPrices: () => read<PricesRecord>("SELECT version, content FROM stored_prices").then(first),

    pricesVersion: () =>
      read<{ version: string }>("SELECT version FROM stored_prices").then(firstAs(({ version }) => version)),

    savePrices: (prices, readVersion) =>
      changeTogether(function* () {
        yield* lockRevision();
        const [stored] = yield* query<{ version: string }>("SELECT version FROM stored_prices");
        if ((stored?.version ?? null) !== readVersion)
          throw new StoreError(
            "changed",
            "Someone else changed the stored prices at the same time. Nothing was changed. Try again.",
          );
        yield* query("DELETE FROM stored_prices");
        if (prices === null) return;
        yield* query("INSERT INTO stored_prices (id, version, content) VALUES (1, $1, $2)", [
          prices.version,
          prices.content,
        ]);
      }),

    insertToken: ({ id, label, role, hash, createdBy, createdAtMs, identity }) =>
      changeTogether(function* () {
        yield* lockRevision();
        const taken = "SELECT 1 FROM admin_tokens WHERE label = $1::text AND revoked_at_ms IS NULL";
        if ((yield* query(taken, [label])).length > 0) {
          throw new StoreError(
            "label_taken",
            `The label ${JSON.stringify(label)} is already used by another token.`,
          );
        }
        yield* query(
          "INSERT INTO admin_tokens (id, label, role, hash, created_by, created_at_ms, identity) VALUES ($1, $2, $3, $4, $5, $6::int8, $7)",
          [id, label, role, hash, createdBy, createdAtMs, identity],
        );
      }),

    async tokenByHash(hash) {
      const found = await read<AdminTokenRecord>(
        `SELECT ${tokenColumns} FROM admin_tokens WHERE hash = $1::text AND revoked_at_ms IS NULL LIMIT 1`,
        [hash],
      );
      return found[0] ?? null;
    },

    listTokens: () =>
      read<AdminTokenRecord>(`SELECT ${tokenColumns} FROM admin_tokens ORDER BY created_at_ms, id`),

    async updateTokenIdentity(id, identity) {
      await change("UPDATE admin_tokens SET identity = $1 WHERE id = $2", [identity, id]);
    },

    async revokeToken(id, atMs) {
      await change(
        "UPDATE admin_tokens SET revoked_at_ms = $1::int8 WHERE id = $2 AND revoked_at_ms IS NULL",
        [atMs, id],
      );
    },
  };
}

const searched =
  "actor || ' ' || address || ' ' || action || ' ' || coalesce(target, '') || ' ' || coalesce(detail, '')";

function storedDevices({ read, change, changeTogether }: Queries): DeviceRecords {
  const findOne = (condition: string, parameters: readonly (string | number)[]) =>
    read<DeviceGrant>(`SELECT ${columns} FROM device_grants WHERE ${condition}`, parameters).then(first);
  return {
    begin: (grant, terms) =>
      changeTogether(function* () {
        const { deviceHash, userCode, address, addressBlock, createdAtMs, endsAtMs } = grant;
        yield* lockRevision();
        yield* query("DELETE FROM device_grants WHERE ends_at_ms < $1::int8", [terms.forgetBeforeMs]);
        const [open] = yield* query<{ count: number; ofBlock: number }>(
          `SELECT count(*)::float8 AS count,
            coalesce(sum(CASE WHEN address_block = $1 THEN 1 ELSE 0 END), 0)::float8 AS "ofBlock"
          FROM device_grants WHERE state = 'pending' AND ends_at_ms > $2::int8`,
          [addressBlock, createdAtMs],
        );
        if (open !== undefined && (open.count >= terms.max || open.ofBlock >= terms.maxPerBlock))
          return false;
        const inserted = yield* query(
          `INSERT INTO device_grants (device_hash, user_code, address, address_block, device, created_at_ms, ends_at_ms, state,
            interval_ms, purpose, client, mode)
          VALUES ($1, $2, $3, $4, $5, $6::int8, $7::int8, 'pending', $8::int8, $9, $10, $11)
          ON CONFLICT (user_code) DO NOTHING RETURNING device_hash`,
          [
            ...[deviceHash, userCode, address, addressBlock, grant.device],
            ...[createdAtMs, endsAtMs, terms.intervalMs],
            ...[grant.purpose, grant.client, grant.mode],
          ],
        );
        return inserted.length > 0;
      }),

    findByDevice: (deviceHash) => findOne("device_hash = $1", [deviceHash]),

    findPending: (userCode, nowMs) =>
      findOne("user_code = $1 AND state = 'pending' AND ends_at_ms > $2::int8", [userCode, nowMs]),

    decide: (userCode, { state, identity, nowMs }) =>
      change(
        `UPDATE device_grants SET state = $1, identity = $2
        WHERE user_code = $3 AND state = 'pending' AND ends_at_ms > $4::int8 RETURNING device_hash`,
        [state, identity, userCode, nowMs],
      ).then(any),

    async recordPoll(deviceHash, polledAtMs, intervalMs) {
      await change(
        "UPDATE device_grants SET polled_at_ms = $1::int8, interval_ms = $2::int8 WHERE device_hash = $3",
        [polledAtMs, intervalMs, deviceHash],
      );
    },

    claim: (deviceHash, nowMs) =>
      change<{ identity: string }>(
        `UPDATE device_grants SET state = 'used'
        WHERE device_hash = $1 AND state = 'approved' AND ends_at_ms > $2::int8 RETURNING identity`,
        [deviceHash, nowMs],
      ).then(firstAs(({ identity }) => identity)),

    async bindKey({ keyId, person, identity }) {
      await change("INSERT INTO signed_in_keys (key_id, person, identity) VALUES ($1, $2, $3)", [
        keyId,
        person,
        identity,
      ]);
    },

    async updateIdentity(person, identity) {
      await change("UPDATE signed_in_keys SET identity = $1 WHERE person = $2", [identity, person]);
    },

    async listBoundKeys(person) {
      const rows = await read<Flagged<BoundKey, "isForSignIns">>(
        `SELECT bound.key_id AS "keyId", bound.identity, bound.status_before AS "statusBefore",
          bound.is_for_sign_ins AS "isForSignIns", keys.prefix, keys.status
        FROM signed_in_keys bound JOIN keys ON keys.id = bound.key_id
        ${person === undefined ? "" : "WHERE bound.person = $1"} ORDER BY bound.key_id`,
        person === undefined ? [] : [person],
      );
      return rows.map((row) => unflagged(row, "isForSignIns"));
    },

    async recordLostSignIn(keyId, statusBefore, atMs) {
      await change(
        `UPDATE signed_in_keys SET status_before = $1, lost_at_ms = $2::int8
        WHERE key_id = $3 AND status_before IS NULL`,
        [statusBefore, atMs, keyId],
      );
    },

    replaceStatusBefore: (keyId, status) =>
      change(
        `UPDATE signed_in_keys SET status_before = $1
        WHERE key_id = $2 AND status_before IS NOT NULL AND status_before <> $1 RETURNING key_id`,
        [status, keyId],
      ).then(any),

    async recordSignIn(keyId) {
      await change("UPDATE signed_in_keys SET status_before = NULL, lost_at_ms = NULL WHERE key_id = $1", [
        keyId,
      ]);
    },

    async findBoundKeys(keyIds) {
      const rows = await read<Flagged<SignedInKey, "isForSignIns">>(
        `SELECT key_id AS "keyId", identity, status_before AS "statusBefore", is_for_sign_ins AS "isForSignIns"
        FROM signed_in_keys WHERE key_id = ANY ($1::text[])`,
        [keyIds],
      );
      return rows.map((row) => unflagged(row, "isForSignIns"));
    },

    async unbindKey(keyId) {
      await change("DELETE FROM signed_in_keys WHERE key_id = $1", [keyId]);
    },
  };
}
