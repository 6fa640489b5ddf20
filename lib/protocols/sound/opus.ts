/** Opus: the first byte of each packet tells how many frames of which length it has. */
const SILK_MS = [10, 20, 40, 60]
const HYBRID_MS = [10, 20]
const CELT_MS = [2.5, 5, 10, 20]
const MOST_MS = 120

/** Seconds of the packet. `second` is its second byte, which only some packets need. */
export function opusSeconds(first: number, second: number): number {
  const config = first >> 3
  const frameMs = config < 12 ? SILK_MS[config & 3] : config < 16 ? HYBRID_MS[config & 1] : CELT_MS[config & 3]
  const code = first & 3
  const frames = code === 0 ? 1 : code === 3 ? second & 63 : 2
  return Math.min(MOST_MS, frames * (frameMs as number)) / 1000
}
