/** Runs the load in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import { endedWith, keep } from '../parts/process.ts'
import type { Order, Outcome } from './order.ts'

const LONGEST_MS = 120_000
const SCRIPT = path.join(import.meta.dirname, 'main.ts')

function start(order: Order): { child: ChildProcess; line: Promise<string> } {
  // a large body does not fit into argv
  const child = keep(spawn(process.execPath, [SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] }))
  child.stdin?.on('error', () => {}) // a load that ended before it had its order is told of by its exit
  child.stdin?.end(JSON.stringify(order))
  const line = new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', data => {
      text += data
      if (text.endsWith('\n')) resolve(text)
    })
    child.once('exit', code => reject(new Error(`the load ended with ${code} and said nothing`)))
    setTimeout(() => reject(new Error(`the load on port ${order.ports} hangs`)), LONGEST_MS).unref()
  })
  return { child, line }
}

export async function runLoad(order: Order): Promise<Outcome> {
  const { child, line } = start(order)
  const outcome = JSON.parse(await line) as Outcome
  await endedWith(child)
  return outcome
}

/** Resolves when all streams are open, with a function that closes them. */
export async function holdLoad(order: Order): Promise<() => Promise<void>> {
  const { child, line } = start({ ...order, mode: 'hold' })
  await line
  return async () => {
    child.kill('SIGKILL')
    await endedWith(child)
  }
}
