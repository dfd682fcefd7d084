/** The microphones and loudspeakers that the browser knows. */
/** A microphone or a loudspeaker. */
export interface AudioDevice {
    /** What the `use` of `Microphone` and `Speaker` takes; "" names the system's own choice. */
    readonly id: string;
    /** The name to show; "" until the user has allowed the microphone. */
    readonly label: string;
}
/** The devices that a page may offer. */
export interface AudioDevices {
    /** Empty before the user allows the microphone, in some browsers. */
    readonly microphones: readonly AudioDevice[];
    /** Empty where the browser lets no page choose (see `canChooseSpeaker`). */
    readonly speakers: readonly AudioDevice[];
}
/** A device that was chosen cannot be used; the call goes on with the one before. */
export declare class DeviceError extends Error {
    constructor(kind: "microphone" | "loudspeaker", deviceId: string, cause: unknown);
}
/** The id by which `listDevices` knows a device of the browser: "" for all names of the system's choice. */
export declare function listedId(deviceId: string): string;
/** Whether a page may choose the loudspeaker: Chromium lets it, Safari and Firefox do not for this kind of output. */
export declare function canChooseSpeaker(): boolean;
/**
 * Returns the devices that are there now, without asking the user for anything. Before the user has allowed the
 * microphone, browsers tell neither ids nor names, so both lists may be empty: list them again once the microphone runs.
 */
export declare function listDevices(): Promise<AudioDevices>;
/** Calls `changed` with the devices whenever one comes or goes, until the returned function is called. */
export declare function watchDevices(changed: (devices: AudioDevices) => void): () => void;
