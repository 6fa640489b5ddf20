/**
 * The command `serve`, which needs nothing of the other commands: a restart should be short, and what reads the command line of all of
 * them takes a twentieth of it.
 */
import { existsSync } from 'node:fs'
import { ConfigError } from '../config/yaml.ts'
import { supervisor } from '../process/supervise.ts'
import { endFailed } from './failure.ts'

const NO_TOKEN =
  'admin_token: expected a token of 8 characters or more for the admin API, found none: ' +
  'set it in the file or, where the file says so, in the environment (GATEWAY_ADMIN_TOKEN)'

/** Where the config file is looked for, in this order, when neither `--config` nor GATEWAY_CONFIG names it. */
export const CONFIG_PLACES = ['/etc/gateway/gateway.yaml', 'gateway.yaml', 'config/gateway.yaml']

export function findConfig(env: NodeJS.ProcessEnv): string {
  const named = env['GATEWAY_CONFIG']
  if (named) return named
  const found = CONFIG_PLACES.find(file => existsSync(file))
  if (found !== undefined) return found
  throw new ConfigError([
    `gateway: no config file: there is none at ${CONFIG_PLACES.join(', ')}; name one with --config or GATEWAY_CONFIG`,
  ])
}

export async function serveFrom(config: string): Promise<void> {
  const { loadConfig } = await import('../config/config.ts')
  const read = loadConfig(config, process.env)
  if (read.adminToken === null) throw new ConfigError([`${config}: ${NO_TOKEN}`])
  if (read.workers > 1 && supervisor !== null) return supervisor.serveByChild()
  const { serveGateway } = await import('../process/serve.ts')
  await serveGateway(read, { configFile: config, env: process.env })
}

/** Whether the command line is `serve` or `serve --config FILE`; with anything else it is for `runCommand`. */
export const isPlainServe = ([command, option, file, ...more]: readonly string[]): boolean =>
  command === 'serve' &&
  more.length === 0 &&
  (option === undefined || (option === '--config' && file !== undefined && !file.startsWith('-')))

export async function runServe([, , file]: readonly string[]): Promise<void> {
  try {
    await serveFrom(file ?? findConfig(process.env))
  } catch (error) {
    endFailed(error)
  }
}
