/** How every page looks in Chinese. */
import t from 'tap'
import { looks } from './support/everywhere.ts'

looks(t, 'zh-CN')
