/**
 * The program of the load, which runs in its own process. It reads its order as one line of JSON from standard input,
 * and prints its result as one line of JSON.
 */
import { readFileSync } from 'node:fs'
import { runClosed } from './closed.ts'
import { runHold } from './hold.ts'
import { runOpen } from './open.ts'
import type { Order } from './order.ts'

const order = JSON.parse(readFileSync(0, 'utf8')) as Order
if (order.mode === 'hold') {
  await runHold(order)
  console.log(JSON.stringify({ open: order.requests }))
} else {
  const outcome = await (order.mode === 'open' ? runOpen(order) : runClosed(order))
  console.log(JSON.stringify(outcome))
  process.exit(0)
}
