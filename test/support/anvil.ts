/**
 * Starts a chain of its own for a test. `.ci/anvil` downloads the program. Without it the tests that need a chain do not run,
 * and `npm test` says so at its end. A block is final when two others have followed it, as on BNB Smart Chain.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
const ANVIL = join(cache, 'gateway/anvil/bin/anvil')

export const ANVIL_MISSING = existsSync(ANVIL)
  ? null
  : 'anvil is not on this machine, and the tests of transfers did not run: .ci/anvil fetches it'

interface Teardown {
  teardown(fn: () => unknown): void
}

export interface Anvil {
  url: string
  call<T = unknown>(method: string, ...params: unknown[]): Promise<T>
}

export async function startAnvil(t: Teardown, chainId = 56): Promise<Anvil> {
  const options = ['--port', '0', '--chain-id', String(chainId), '--slots-in-an-epoch', '1', '--accounts', '3']
  const child = spawn(ANVIL, options, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const url = await new Promise<string>((resolve, reject) => {
    let said = ''
    child.stdout.on('data', chunk => {
      said += chunk
      const address = /Listening on (\S+)/.exec(said)?.[1]
      if (address !== undefined) resolve(`http://${address}`)
    })
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`anvil ended with ${code}: ${said}`)))
  })
  const call = async <T>(method: string, ...params: unknown[]): Promise<T> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const { result, error } = (await answer.json()) as { result?: T; error?: { message: string } }
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result as T
  }
  return { url, call }
}
