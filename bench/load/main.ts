/** The load, a process of its own: told by one line of JSON on its standard input; prints one line of JSON when done. */
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
