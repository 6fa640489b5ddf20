/**
 * Money as text. It comes from the API as a decimal with six places and is never made a number on its way to the page: the
 * browser's own formatter takes the decimal and keeps every digit.
 */
import { locale } from './words.ts'

const formats = new Map<string, Intl.NumberFormat>()

function formatOf(places: number): Intl.NumberFormat {
  const key = `${locale()} ${places}`
  let format = formats.get(key)
  if (format === undefined) {
    format = new Intl.NumberFormat(locale(), {
      style: 'currency',
      currency: 'CNY',
      currencyDisplay: 'narrowSymbol',
      minimumFractionDigits: places,
      maximumFractionDigits: places,
    })
    formats.set(key, format)
  }
  return format
}

const ALL_PLACES = 6
const NOTHING_IN_TWO = /^-?0\.00/
const ONLY_ZEROS = /^-?[0.]*$/

/** Two places: lists and cards. What is less than a fen has all its places, because a first request that cost something is not free. */
export const money = (decimal: string): string => {
  const isTiny = NOTHING_IN_TWO.test(decimal) && !ONLY_ZEROS.test(decimal)
  return formatOf(isTiny ? ALL_PLACES : 2).format(decimal as `${number}`)
}

const FEN = 10_000n

/** What somebody has left, in two places: rounded down, towards less money, because a balance is never shown as more than there is. */
export const moneyDown = (decimal: string): string => {
  if (NOTHING_IN_TWO.test(decimal)) return money(decimal)
  const micros = BigInt(decimal.replace('.', ''))
  const over = ((micros % FEN) + FEN) % FEN
  return money(`${(micros - over) / FEN}e-2`)
}

/** Six places, as it is charged: receipts and prices. */
export const exactMoney = (decimal: string): string => formatOf(ALL_PLACES).format(decimal as `${number}`)

const unit = new Map<string, Intl.NumberFormat>()

/** A price of one piece or of a million tokens: as many places as it has. */
export function unitPrice(decimal: string): string {
  let format = unit.get(locale())
  if (format === undefined) {
    const shown = { style: 'currency', currency: 'CNY', currencyDisplay: 'narrowSymbol' } as const
    format = new Intl.NumberFormat(locale(), { ...shown, minimumFractionDigits: 0, maximumFractionDigits: 12 })
    unit.set(locale(), format)
  }
  return format.format(decimal as `${number}`)
}

/** A count in full, with the reader's separators. */
export const count = (value: number): string => new Intl.NumberFormat(locale()).format(value)

/** A count for cards: `1.2M`, `123万`. */
export const compact = (value: number): string =>
  new Intl.NumberFormat(locale(), { notation: 'compact', maximumFractionDigits: 1, useGrouping: 'always' }).format(
    value,
  )

/** A share between 0 and 1. */
export const percent = (share: number): string =>
  new Intl.NumberFormat(locale(), { style: 'percent', maximumFractionDigits: 1 }).format(share)
