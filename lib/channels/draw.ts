/**
 * The draw by which one of several channels, or one of a channel's keys, is chosen. Every candidate gets the score
 * -ln(u) / weight, with u random between 0 and 1, and the smallest score wins. A channel wins in proportion to its weight,
 * whichever others take part, and drawing again among the rest is drawing by weight without replacement.
 *
 * For a request with an affinity number (a hash of its conversation), u is a hash of that number and of the channel:
 * weighted rendezvous hashing. So a conversation always gets the same order of channels: it moves on when its channel
 * rests, comes back afterwards, and a channel that joins or leaves moves no other conversation.
 */

/** Greater than any score of a channel with a weight: -ln of the smallest possible draw (2^-53) is about 37. */
const BEHIND = 1e6

/** The smallest score wins. Scores of weight 0 are greater than all others. */
export function scoreOf(
  { hash, weight }: { hash: number; weight: number },
  affinity: number | null,
  random: () => number,
): number {
  const score = -Math.log(draw(hash, affinity, random))
  return weight > 0 ? score / weight : BEHIND + score
}

/** A number above 0 and up to 1: random, or with affinity a hash. */
export function draw(hash: number, affinity: number | null, random: () => number): number {
  return affinity === null ? 1 - random() : (mix(affinity ^ hash) + 1) / 2 ** 32
}

/** Murmur3's finalizer: every bit of the input moves every bit of the output. */
function mix(h: number): number {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
