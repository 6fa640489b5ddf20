/** How many tokens an amount of CNY is, and the other way round. Everything is whole numbers. */
import { micro, type Micro } from '../../base/money.ts'
import { WEI } from '../../terms/deposits.ts'

/** Wallets show and take few decimal places, so what is asked for has four. */
const STEP = WEI / 10_000n

const up = (value: bigint, by: bigint): bigint => (value + by - 1n) / by

/** Tokens for an amount at a rate (CNY in millionths for one token), rounded up to four places. */
export const tokensFor = (amount: Micro, rate: number): bigint =>
  up(up(BigInt(amount) * WEI, BigInt(rate)), STEP) * STEP

/** What tokens are worth at a rate, rounded down. */
export const worthAt = (wei: bigint, rate: number): Micro => micro(Number((wei * BigInt(rate)) / WEI))
