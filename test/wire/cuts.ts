import type { SeededRandom } from "../support/random.ts";

/** A copy in pieces, as the network may split it. It is a copy because a reader may overwrite its input. */
export function cutAt(bytes: Uint8Array, positions: readonly number[]): Buffer[] {
  const borders = [0, ...positions, bytes.length];
  return borders.slice(1).map((end, index) => Buffer.from(bytes.slice(borders[index], end)));
}

/** All ways to split it into two. */
export function everyCut(bytes: Uint8Array): Buffer[][] {
  return Array.from({ length: bytes.length + 1 }, (_, at) => cutAt(bytes, [at]));
}

export function byteByByte(bytes: Uint8Array): Buffer[] {
  return cutAt(
    bytes,
    Array.from({ length: Math.max(0, bytes.length - 1) }, (_, index) => index + 1),
  );
}

export function randomCuts(bytes: Uint8Array, random: SeededRandom): Buffer[] {
  const positions = Array.from({ length: random.below(8) }, () => random.below(bytes.length + 1));
  return cutAt(
    bytes,
    positions.toSorted((left, right) => left - right),
  );
}
