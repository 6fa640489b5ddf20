/**
 * The program of the child process of `command-line.ts`: it runs commands of the command line one after the other, each in its
 * folder, and sends what each has written and its exit code.
 */
import { fileURLToPath } from 'node:url'
import { runCommand } from '../../lib/cli/run.ts'
import type { Asked, Ended } from './command-line.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Thrown where a command ends its process. */
class Exit extends Error {}

async function answer({ args, cwd, env = {}, columns }: Asked): Promise<Ended> {
  process.chdir(cwd)
  const before = { ...process.env }
  Object.assign(process.env, env)
  Object.assign(process.stdout, { isTTY: columns !== undefined, columns })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    process[name].write = (data: string | Uint8Array, ...rest: unknown[]) => {
      said[name] += typeof data === 'string' ? data : Buffer.from(data).toString()
      const done = rest.at(-1)
      if (typeof done === 'function') process.nextTick(done)
      return true
    }
  let ended: Ended | null = null
  process.exitCode = 0
  process.exit = code => {
    ended ??= { status: Number(code ?? process.exitCode), ...said }
    throw new Exit()
  }
  await runCommand(args, ROOT).catch((error: unknown) => {
    if (!(error instanceof Exit)) throw error
  })
  process.env = before
  return ended ?? { status: Number(process.exitCode), ...said }
}

process.on('message', async (asked: Asked) => process.send?.(await answer(asked)))
