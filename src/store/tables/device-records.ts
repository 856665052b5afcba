import type { DeviceGrant, DeviceRecords, SignedInKey } from "../device-records.ts";
import { type Queries, query } from "../query.ts";
import { lockRevision } from "./revision.ts";

const columns = `device_hash AS "deviceHash", user_code AS "userCode", address, device,
  created_at_ms::float8 AS "createdAtMs", ends_at_ms::float8 AS "endsAtMs", state,
  polled_at_ms::float8 AS "polledAtMs", interval_ms::float8 AS "intervalMs"`;

export function storedDevices({ read, change, changeTogether }: Queries): DeviceRecords {
  const findOne = async (condition: string, parameters: readonly (string | number)[]) => {
    const [found] = await read<DeviceGrant>(
      `SELECT ${columns} FROM device_grants WHERE ${condition}`,
      parameters,
    );
    return found ?? null;
  };
  return {
    begin: ({ deviceHash, userCode, address, device, createdAtMs, endsAtMs }, terms) =>
      changeTogether(function* () {
        yield* lockRevision();
        yield* query("DELETE FROM device_grants WHERE ends_at_ms < $1::int8", [terms.forgetBeforeMs]);
        const [open] = yield* query<{ count: number }>("SELECT count(*)::float8 AS count FROM device_grants");
        if ((open?.count ?? 0) >= terms.max) return false;
        const inserted = yield* query(
          `INSERT INTO device_grants (device_hash, user_code, address, device, created_at_ms, ends_at_ms, state, interval_ms)
          VALUES ($1, $2, $3, $4, $5::int8, $6::int8, 'pending', $7::int8)
          ON CONFLICT (user_code) DO NOTHING RETURNING device_hash`,
          [deviceHash, userCode, address, device, createdAtMs, endsAtMs, terms.intervalMs],
        );
        return inserted.length > 0;
      }),

    findByDevice: (deviceHash) => findOne("device_hash = $1", [deviceHash]),

    findPending: (userCode, nowMs) =>
      findOne("user_code = $1 AND state = 'pending' AND ends_at_ms > $2::int8", [userCode, nowMs]),

    async decide(userCode, { state, identity, nowMs }) {
      const decided = await change(
        `UPDATE device_grants SET state = $1, identity = $2
        WHERE user_code = $3 AND state = 'pending' AND ends_at_ms > $4::int8 RETURNING device_hash`,
        [state, identity, userCode, nowMs],
      );
      return decided.length > 0;
    },

    async recordPoll(deviceHash, polledAtMs, intervalMs) {
      await change(
        "UPDATE device_grants SET polled_at_ms = $1::int8, interval_ms = $2::int8 WHERE device_hash = $3",
        [polledAtMs, intervalMs, deviceHash],
      );
    },

    async claim(deviceHash, nowMs) {
      const [claimed] = await change<{ identity: string }>(
        `UPDATE device_grants SET state = 'used'
        WHERE device_hash = $1 AND state = 'approved' AND ends_at_ms > $2::int8 RETURNING identity`,
        [deviceHash, nowMs],
      );
      return claimed?.identity ?? null;
    },

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

    listBoundKeys: () =>
      read<SignedInKey>(`SELECT key_id AS "keyId", identity FROM signed_in_keys ORDER BY key_id`),

    findBoundKeys: (keyIds) =>
      read<SignedInKey>(
        `SELECT key_id AS "keyId", identity FROM signed_in_keys WHERE key_id = ANY ($1::text[])`,
        [keyIds],
      ),

    async unbindKey(keyId) {
      await change("DELETE FROM signed_in_keys WHERE key_id = $1", [keyId]);
    },
  };
}
