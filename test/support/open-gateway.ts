/**
 * The gateway of `gateway.ts` opened in this process, by the same code that serves in a process of its own: it takes no signals and writes
 * no log. The start of a process costs far more than what most tests ask of it. It is for tests of what clients get; those of what
 * processes do start one, and so do those that block this process while they wait for an answer.
 */
import { createLogger } from '../../lib/base/log.ts'
import { loadConfig } from '../../lib/config/config.ts'
import { prepareFolders } from '../../lib/process/data-paths.ts'
import { openProcessStore, prepareStore } from '../../lib/process/prepare.ts'
import { openAlone } from '../../lib/process/serve-alone.ts'
import { Metrics } from '../../lib/terms/metrics.ts'
import { type GatewayOptions, gatewayAt, type OpenGateway, placeFor } from './gateway.ts'
import { freePorts } from './ports.ts'

export async function openGateway(options: GatewayOptions = {}): Promise<OpenGateway> {
  const ports = await freePorts(3)
  const place = await placeFor(
    options,
    ports.map(port => `127.0.0.1:${port}`),
  )
  const acts = await serve(place.configFile).catch(async error => {
    await place.remove()
    throw error
  })
  const stop = async () => {
    place.stalls.goOn()
    await acts.stop()
    await place.remove()
  }
  return { ...gatewayAt(place), stop }
}

async function serve(configFile: string) {
  const { env } = process
  const config = loadConfig(configFile, env)
  prepareFolders(config, configFile)
  const log = createLogger('silent', { write: () => {} })
  const metrics = new Metrics()
  const store = openProcessStore(config, metrics, log)
  await prepareStore(store, config, env, log)
  return (await openAlone({ config, options: { configFile, env }, log, metrics, store })).acts
}
