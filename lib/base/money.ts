/**
 * Money: a whole number of micro-CNY (millionths of a CNY), with its arithmetic, its parsing and its text form. Every
 * operation throws InvariantError when the result is no safe integer, so that no amount is ever rounded silently.
 */
import { invariant } from './assert.ts'

/** A whole number of micro-CNY, always a safe integer: up to about ±9 billion CNY. */
export type Micro = number & { readonly __unit: 'micro-CNY' }

export const ZERO = 0 as Micro
const MICROS = 1_000_000

export function micro(value: number): Micro {
  invariant(Number.isSafeInteger(value), `not a whole number of micro-CNY: ${value}`)
  return value as Micro
}

export const add = (a: Micro, b: Micro): Micro => micro(a + b)
export const subtract = (a: Micro, b: Micro): Micro => micro(a - b)

const DECIMAL = /^(-?)(\d{1,9})(?:\.(\d{1,6}))?$/

/**
 * Parses a decimal with at most six places, from a string or a number (`5`, `'0.000001'`), into millionths. Returns
 * null for exponents, more places, spaces, and more than nine digits before the point.
 */
export function parseMillionths(text: unknown): number | null {
  if (typeof text === 'number') text = Number.isFinite(text) ? plain(text) : ''
  const m = typeof text === 'string' ? DECIMAL.exec(text) : null
  if (m === null) return null
  const value = Number(m[2]) * MICROS + Number((m[3] ?? '').padEnd(6, '0'))
  return m[1] === '-' && value !== 0 ? -value : value
}

/** The shortest decimal of a number, without exponent: `String(0.0000001)` would be `1e-7`. */
function plain(value: number): string {
  const text = String(value)
  return text.includes('e') ? value.toFixed(20).replace(/\.?0+$/, '') : text
}

/** An amount in CNY, read as `parseMillionths` reads decimals; null when it is none. */
export function parseMicro(text: unknown): Micro | null {
  const value = parseMillionths(text)
  return value === null ? null : micro(value)
}

/** A number of units of 10^−`places` as a decimal, without the zeros at its end: `decimalText(2_500n, 3)` is `2.5`. */
export function decimalText(units: bigint, places: number): string {
  const text = String(units < 0n ? -units : units).padStart(places + 1, '0')
  const fraction = text.slice(-places).replace(/0+$/, '')
  return `${units < 0n ? '-' : ''}${text.slice(0, -places)}${fraction === '' ? '' : `.${fraction}`}`
}

/** What stands before a number of so many digits that is less than a million. */
const BELOW_ONE = Array.from({ length: 7 }, (_, digits) => `0.${'0'.repeat(6 - digits)}`)

/** An amount in CNY with six places, as error texts and the admin API print it: `-0.600200`. */
export function formatMicro(value: Micro | bigint): string {
  const sign = value < 0 ? '-' : ''
  const text = String(value < 0 ? -value : value)
  const below = BELOW_ONE[text.length]
  return below === undefined ? `${sign}${text.slice(0, -6)}.${text.slice(-6)}` : sign + below + text
}

/** An amount in millionths of a USD. `rate`: what a USD costs, in micro-CNY. The rest of the division is dropped. */
export const inUsd = (amount: Micro, rate: number): number => Number((BigInt(amount) * BigInt(MICROS)) / BigInt(rate))

/** A price or a factor as people read and write it; the store keeps whole millionths. */
export const decimal = (millionths: number): number => millionths / MICROS
