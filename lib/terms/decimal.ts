/** Prices and factors: the store keeps whole millionths, people read and write decimals. */
const MILLION = 1_000_000

export const decimal = (millionths: number): number => millionths / MILLION
