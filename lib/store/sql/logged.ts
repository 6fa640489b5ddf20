/**
 * What the log of actions says of each kind of row: its fields as people write them. Of a secret it keeps nothing but
 * that it changed.
 */
import { showGroup, showModel, shownChannel } from '../../catalog/rows.ts'
import { type Channel, showLimit, type Account, type Group, type Key, type Model } from '../../terms/records.ts'
import { secretHeaders } from '../../base/secrets.ts'

/** `secrets` are compared, and never written. */
export interface Logged {
  shown: Record<string, unknown>
  secrets?: Record<string, string>
}

export const loggedAccount = ({ name, status, groups, rate, budget, sandbox }: Account): Logged => ({
  shown: { name, status, groups, rate, budget: showLimit(budget), sandbox },
})

export const loggedKey = (key: Key): Logged => ({
  shown: {
    name: key.name,
    group: key.group,
    status: key.status,
    expires_at: key.expiresAtMs === null ? null : new Date(key.expiresAtMs).toISOString(),
    cap: showLimit(key.cap),
    allow_ips: key.allowIps,
    models: key.models,
    models_off: key.modelsOff,
    created_by: key.createdBy,
    hint: key.hint,
  },
  secrets: { secret: key.hash },
})

export const loggedGroup = (group: Group): Logged => ({ shown: showGroup(group) })

export const loggedModel = (model: Model): Logged => ({ shown: showModel(model) })

export const loggedChannel = (channel: Channel): Logged => ({
  shown: { ...shownChannel(channel), keys: channel.keys.map(key => ({ max_concurrency: key.maxConcurrency })) },
  secrets: {
    key: JSON.stringify(channel.keys.map(({ key }) => key)),
    proxy_credentials: channel.proxy ?? '',
    secret_headers: JSON.stringify(secretHeaders(channel.headers)),
  },
})
