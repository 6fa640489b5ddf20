/**
 * How much of what a provider received it is asked to send back for a part of an order. All parts together are rounded down,
 * so the one that takes the rest takes all that is left, whatever became of those before it.
 */
import type { Micro } from '../base/money.ts'

/**
 * `received`: what the payer paid, in its smallest unit; `credited`: what the balance got for it. `before`: what the parts
 * before this one took of the balance, and `sent`: what the provider was asked for them, without those that did not go back.
 */
export function refundShare(
  { received, credited }: { received: number; credited: Micro },
  amount: Micro,
  before: Micro,
  sent: number,
): number {
  const share = (BigInt(before + amount) * BigInt(received)) / BigInt(credited)
  return Math.max(0, Number(share) - sent)
}
