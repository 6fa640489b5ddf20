/** Prices and factors as people write them; the store keeps millionths. */
const MILLION = 1_000_000

export const decimal = (millionths: number): number => millionths / MILLION
