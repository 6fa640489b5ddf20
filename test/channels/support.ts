import type { Channel } from '../../lib/terms/records.ts'

export const channel = (name: string, change: Partial<Channel> = {}): Channel => ({
  name,
  baseUrl: `https://${name}.example`,
  protocols: ['chat'],
  key: `up-${name}`,
  authHeader: null,
  headers: {},
  passHeaders: [],
  groups: ['default'],
  models: { m: 'm' },
  weight: 1,
  priority: 0,
  status: 'enabled',
  ...change,
})
