import { type Parameter, type Queries, query, type Work } from "../query.ts";
import type { NewSignIn, RefreshableSignIn, SignIn, SignInRecords } from "../sign-in-records.ts";
import { lockRevision, raiseRevision } from "./revision.ts";
import { firstAs } from "./rows.ts";

const columns = `id, key_id AS "keyId", person, name, client, device, address, began_at_ms::float8 AS "beganAtMs",
  used_at_ms::float8 AS "usedAtMs", ended_at_ms::float8 AS "endedAtMs", end_reason AS "endReason", access`;
const refreshColumns = `refresh_hash AS "refreshHash", former_hash AS "formerHash", former_answer AS "formerResponse"`;

/** `access` is JSON in the row. */
type Row<Of extends SignIn> = Omit<Of, "access"> & { readonly access: string };

function fromRow<Of extends SignIn>(row: Row<Of>): Of {
  // Written below.
  return { ...row, access: JSON.parse(row.access) } as Of;
}

export function* signInsChangedSince(revision: number): Work<SignIn[]> {
  const rows = yield* query<Row<SignIn>>(`SELECT ${columns} FROM sign_ins WHERE revision > $1::int8`, [
    revision,
  ]);
  return rows.map(fromRow);
}

export function storedSignIns({ read, changeTogether }: Queries): SignInRecords {
  return {
    begin: (signIn, { maxPerPerson, forgetBeforeMs }) =>
      changeTogether(function* () {
        yield* lockRevision();
        yield* query("DELETE FROM sign_ins WHERE coalesce(ended_at_ms, used_at_ms) < $1::int8", [
          forgetBeforeMs,
        ]);
        const open = yield* query<{ id: string }>(
          "SELECT id FROM sign_ins WHERE person = $1 AND ended_at_ms IS NULL ORDER BY used_at_ms DESC, id",
          [signIn.person],
        );
        const replaced = open.slice(maxPerPerson - 1).map(({ id }) => id);
        const revision = yield* raiseRevision();
        const ended = yield* endAll(replaced, "replaced", signIn.beganAtMs, revision);
        yield* insert(signIn, revision);
        return ended;
      }),

    findByFamily: (familyHash) =>
      read<Row<RefreshableSignIn>>(
        `SELECT ${columns}, ${refreshColumns} FROM sign_ins WHERE family_hash = $1`,
        [familyHash],
      ).then(firstAs((row) => fromRow<RefreshableSignIn>(row))),

    refresh: (id, refreshHash, next) =>
      changeTogether(function* () {
        yield* lockRevision();
        const refreshed = yield* query(
          `UPDATE sign_ins SET refresh_hash = $3, former_hash = $4, former_answer = $5, used_at_ms = $6::int8, access = $7,
            revision = $8::int8
          WHERE id = $1 AND refresh_hash = $2 AND ended_at_ms IS NULL RETURNING id`,
          [
            id,
            refreshHash,
            next.refreshHash,
            next.formerHash,
            next.formerResponse,
            next.usedAtMs,
            JSON.stringify(next.access),
            yield* raiseRevision(),
          ],
        );
        return refreshed.length > 0;
      }),

    end: (ids, reason, atMs) =>
      ids.length === 0
        ? Promise.resolve([])
        : changeTogether(function* () {
            yield* lockRevision();
            return yield* endAll(ids, reason, atMs, yield* raiseRevision());
          }),

    async list(person) {
      const where = person === undefined ? "" : "WHERE person = $1";
      const rows = await read<Row<SignIn>>(
        `SELECT ${columns} FROM sign_ins ${where} ORDER BY began_at_ms DESC, id`,
        person === undefined ? [] : [person],
      );
      return rows.map(fromRow);
    },

    bindKey: ({ keyId, person, identity }) =>
      changeTogether(function* () {
        yield* lockRevision();
        const known = yield* query<{ keyId: string }>(selectKeyId, [person]);
        if (known[0] !== undefined) return known[0].keyId;
        yield* query(
          "INSERT INTO signed_in_keys (key_id, person, identity, is_for_sign_ins) VALUES ($1, $2, $3, 1)",
          [keyId, person, identity],
        );
        return keyId;
      }),

    findKeyId: (person) => read<{ keyId: string }>(selectKeyId, [person]).then(firstAs(({ keyId }) => keyId)),
  };

  function* insert(signIn: NewSignIn, revision: number): Work<void> {
    const values: Parameter[] = [
      ...[signIn.id, signIn.keyId, signIn.person, signIn.name, signIn.client, signIn.device, signIn.address],
      ...[signIn.beganAtMs, signIn.usedAtMs, JSON.stringify(signIn.access)],
      ...[signIn.familyHash, signIn.refreshHash, revision],
    ];
    yield* query(
      `INSERT INTO sign_ins (id, key_id, person, name, client, device, address, began_at_ms, used_at_ms, access, family_hash,
        refresh_hash, revision)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8::int8, $9::int8, $10, $11, $12, $13::int8)`,
      values,
    );
  }
}

const selectKeyId = `SELECT key_id AS "keyId" FROM signed_in_keys WHERE person = $1 AND is_for_sign_ins = 1`;

function* endAll(
  ids: readonly string[],
  reason: string,
  atMs: number,
  revision: number,
): Work<readonly SignIn[]> {
  if (ids.length === 0) return [];
  const rows = yield* query<Row<SignIn>>(
    `UPDATE sign_ins SET ended_at_ms = $1::int8, end_reason = $2, former_answer = NULL, revision = $3::int8
    WHERE id = ANY ($4::text[]) AND ended_at_ms IS NULL RETURNING ${columns}`,
    [atMs, reason, revision, [...ids]],
  );
  return rows.map(fromRow);
}
