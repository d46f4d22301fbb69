/*
 * Vulkan on the first device that is not a processor: prints the name of each part, and "right" or the first wrong
 * element.
 *
 * kernels: push constants, specialization, uniform buffers with dynamic offsets, storage images, shared memory,
 * atomics, indirect dispatch.  transfers: fills, updates, copies, blits that scale and mirror.  masks, resolves: draws
 * with sample masks, of one and of four samples, and queries of the samples that pass.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#include "color.h"
#include "kernel.h"
#include "whole.h"

enum {
    ITEMS = 1024,
    WIDTH = 32,
    SIDE = 16,
    BYTES = 65536,
    OFFSET = 256 /* of the second uniform buffer */
};

struct buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint32_t *words;
};

struct image {
    VkImage image;
    VkImageView view;
};

static VkPhysicalDevice gpu;
static VkDevice device;
static VkQueue queue;
static VkCommandPool pool;
static VkPhysicalDeviceMemoryProperties memories;

static void check(VkResult result, const char *of) {
    if (result != VK_SUCCESS) {
        printf("%s: %d\n", of, (int)result);
        exit(1);
    }
}

/* Prints about the first element that differs; true without one. */
static bool same(const char *name, const uint32_t *found, const uint32_t *wanted, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (found[i] != wanted[i]) {
            printf("%s: %u is 0x%x, not 0x%x\n", name, i, found[i], wanted[i]);
            return false;
        }
    }
    return true;
}

static void open_device(void) {
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_1};
    const VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                         .pApplicationInfo = &application};
    const float priority = 1;
    const VkDeviceQueueCreateInfo queues = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    const VkDeviceCreateInfo wanted = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queues};
    const VkCommandPoolCreateInfo pools = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkPhysicalDevice all[8];
    uint32_t count = 8;
    VkInstance instance;

    check(vkCreateInstance(&create, NULL, &instance), "vkCreateInstance");
    check(vkEnumeratePhysicalDevices(instance, &count, all), "vkEnumeratePhysicalDevices");
    for (uint32_t i = 0; i < count && !gpu; i++) {
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(all[i], &properties);
        gpu = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ? NULL : all[i];
    }
    if (!gpu) {
        puts("no GPU");
        exit(1);
    }
    vkGetPhysicalDeviceMemoryProperties(gpu, &memories);
    check(vkCreateDevice(gpu, &wanted, NULL, &device), "vkCreateDevice");
    vkGetDeviceQueue(device, 0, 0, &queue);
    check(vkCreateCommandPool(device, &pools, NULL, &pool), "vkCreateCommandPool");
}

static VkDeviceMemory allocate(const VkMemoryRequirements *needs) {
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs->size};
    VkDeviceMemory memory;

    for (uint32_t i = 0; i < memories.memoryTypeCount; i++) {
        if (needs->memoryTypeBits >> i & 1 && (memories.memoryTypes[i].propertyFlags & wanted) == wanted) {
            info.memoryTypeIndex = i;
        }
    }
    check(vkAllocateMemory(device, &info, NULL, &memory), "vkAllocateMemory");
    return memory;
}

static struct buffer new_buffer(void) {
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = BYTES,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                 VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT,
    };
    VkMemoryRequirements needs;
    struct buffer made;
    void *words;

    check(vkCreateBuffer(device, &info, NULL, &made.buffer), "vkCreateBuffer");
    vkGetBufferMemoryRequirements(device, made.buffer, &needs);
    made.memory = allocate(&needs);
    check(vkBindBufferMemory(device, made.buffer, made.memory, 0), "vkBindBufferMemory");
    check(vkMapMemory(device, made.memory, 0, BYTES, 0, &words), "vkMapMemory");
    made.words = words;
    memset(words, 0, BYTES);
    return made;
}

static struct image new_image(VkFormat format, uint32_t width, uint32_t height, uint32_t samples,
                              VkImageUsageFlags usage) {
    const VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = format,
        .extent = {width, height, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = (VkSampleCountFlagBits)samples,
        .usage = usage,
    };
    VkImageViewCreateInfo view = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = format,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
    };
    VkMemoryRequirements needs;
    struct image made = {0};

    check(vkCreateImage(device, &info, NULL, &made.image), "vkCreateImage");
    vkGetImageMemoryRequirements(device, made.image, &needs);
    check(vkBindImageMemory(device, made.image, allocate(&needs), 0), "vkBindImageMemory");
    if (usage & (VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT)) {
        view.image = made.image;
        check(vkCreateImageView(device, &view, NULL, &made.view), "vkCreateImageView");
    }
    return made;
}

static VkCommandBuffer begin(void) {
    const VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
    const VkCommandBufferBeginInfo start = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands;

    check(vkAllocateCommandBuffers(device, &info, &commands), "vkAllocateCommandBuffers");
    check(vkBeginCommandBuffer(commands, &start), "vkBeginCommandBuffer");
    return commands;
}

static void run(VkCommandBuffer commands) {
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};

    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    check(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
    check(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
}

/* Everything before is visible to everything behind. */
static void barrier(VkCommandBuffer commands) {
    const VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                 .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &all,
                         0, NULL, 0, NULL);
}

static void layout(VkCommandBuffer commands, VkImage image) {
    const VkImageMemoryBarrier to = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                     .dstAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                     .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                     .image = image,
                                     .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL,
                         0, NULL, 1, &to);
}

static VkBufferImageCopy whole_image(uint32_t width, uint32_t height) {
    return (VkBufferImageCopy){.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                               .imageExtent = {width, height, 1}};
}

static VkShaderModule module(const uint32_t *code, size_t bytes) {
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = code};
    VkShaderModule made;
    check(vkCreateShaderModule(device, &info, NULL, &made), "vkCreateShaderModule");
    return made;
}

/* ---- kernels ---- */

static VkDescriptorSetLayout set_layout(VkDescriptorType first, VkDescriptorType second) {
    const VkDescriptorSetLayoutBinding bindings[] = {
        {.binding = 0, .descriptorType = first, .descriptorCount = 1, .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT},
        {.binding = 1, .descriptorType = second, .descriptorCount = 1, .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT},
    };
    const VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 2, .pBindings = bindings};
    VkDescriptorSetLayout made;
    check(vkCreateDescriptorSetLayout(device, &info, NULL, &made), "vkCreateDescriptorSetLayout");
    return made;
}

static void describe(VkDescriptorSet set, uint32_t binding, VkDescriptorType type, VkBuffer buffer, VkImageView view) {
    const VkDescriptorBufferInfo range = {buffer, 0, type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER ? BYTES : OFFSET};
    const VkDescriptorImageInfo image = {.imageView = view, .imageLayout = VK_IMAGE_LAYOUT_GENERAL};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = set,
                                        .dstBinding = binding,
                                        .descriptorCount = 1,
                                        .descriptorType = type,
                                        .pBufferInfo = &range,
                                        .pImageInfo = &image};
    vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
}

static bool kernels(void) {
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2},
                                          {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 1},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1}};
    const VkDescriptorPoolCreateInfo pools = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 2, .poolSizeCount = 3, .pPoolSizes = sizes};
    const VkDescriptorSetLayout layouts[] = {
        set_layout(VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC),
        set_layout(VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)};
    const VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 8};
    const VkPipelineLayoutCreateInfo pipeline_layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                                        .setLayoutCount = 2,
                                                        .pSetLayouts = layouts,
                                                        .pushConstantRangeCount = 1,
                                                        .pPushConstantRanges = &push};
    const uint32_t scale = 3;
    const VkSpecializationMapEntry entry = {0, 0, 4};
    const VkSpecializationInfo special = {1, &entry, 4, &scale};
    const uint32_t constants[2] = {1000, WIDTH};
    const uint32_t offset = OFFSET;
    const struct buffer words = new_buffer(), factors = new_buffer(), sums = new_buffer(), sizes_of = new_buffer(),
                        read = new_buffer();
    const struct image image = new_image(VK_FORMAT_R32_UINT, WIDTH, ITEMS / WIDTH, 1,
                                         VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    const VkBufferImageCopy copy = whole_image(WIDTH, ITEMS / WIDTH);
    uint32_t wanted[ITEMS], stored[ITEMS], sum[2] = {0, 0};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module(kernel, sizeof kernel),
                  .pName = "main",
                  .pSpecializationInfo = &special},
    };
    VkDescriptorSetAllocateInfo sets = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorSetCount = 2, .pSetLayouts = layouts};
    VkDescriptorSet set[2];
    VkPipeline pipeline;

    check(vkCreateDescriptorPool(device, &pools, NULL, &sets.descriptorPool), "vkCreateDescriptorPool");
    check(vkAllocateDescriptorSets(device, &sets, set), "vkAllocateDescriptorSets");
    check(vkCreatePipelineLayout(device, &pipeline_layout, NULL, &info.layout), "vkCreatePipelineLayout");
    check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline), "vkCreateComputePipelines");
    describe(set[0], 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, words.buffer, NULL);
    describe(set[0], 1, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, factors.buffer, NULL);
    describe(set[1], 0, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, VK_NULL_HANDLE, image.view);
    describe(set[1], 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, sums.buffer, NULL);
    for (uint32_t i = 0; i < ITEMS; i++) {
        words.words[i] = i * i + 7;
    }
    for (uint32_t i = 0; i < 16; i++) {
        factors.words[OFFSET / 4 + i] = 2 * i + 1;
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        const uint32_t l = i % 64;
        const uint32_t factor = factors.words[OFFSET / 4 + (l & 3) * 4 + (l >> 2 & 3)];
        wanted[i] = words.words[i - l + 63 - l] * factor * scale + constants[0];
        stored[i] = wanted[i] ^ i;
        sum[0] += wanted[i];
        sum[1] = wanted[i] > sum[1] ? wanted[i] : sum[1];
    }
    memcpy(sizes_of.words, (const uint32_t[]){ITEMS / 64, 1, 1}, 12);

    const VkCommandBuffer commands = begin();
    layout(commands, image.image);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, info.layout, 0, 2, set, 1, &offset);
    vkCmdPushConstants(commands, info.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 8, constants);
    vkCmdDispatchIndirect(commands, sizes_of.buffer, 0);
    barrier(commands);
    vkCmdCopyImageToBuffer(commands, image.image, VK_IMAGE_LAYOUT_GENERAL, read.buffer, 1, &copy);
    run(commands);
    return same("kernels", words.words, wanted, ITEMS) && same("kernels (image)", read.words, stored, ITEMS) &&
           same("kernels (atomics)", sums.words, sum, 2);
}

/* ---- transfers ---- */

static bool transfers(void) {
    const VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    const struct image small = new_image(VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, 1, usage);
    const struct image large = new_image(VK_FORMAT_B8G8R8A8_UNORM, 2 * SIDE, 2 * SIDE, 1, usage);
    const struct buffer from = new_buffer(), to = new_buffer();
    const VkBufferImageCopy up = whole_image(SIDE, SIDE), down = whole_image(2 * SIDE, 2 * SIDE);
    const VkImageBlit blit = {.srcSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                              .srcOffsets = {{SIDE, 0, 0}, {0, SIDE, 1}}, /* mirrored */
                              .dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                              .dstOffsets = {{0, 0, 0}, {2 * SIDE, 2 * SIDE, 1}}};
    const VkBufferCopy part = {40, 8192, 400};
    const uint32_t update[4] = {11, 22, 33, 44};
    uint32_t wanted[4 * SIDE * SIDE], rest[108];

    for (uint32_t i = 0; i < SIDE * SIDE; i++) {
        from.words[i] = i * 0x01030507u;
    }
    for (uint32_t y = 0; y < 2 * SIDE; y++) {
        for (uint32_t x = 0; x < 2 * SIDE; x++) {
            const uint32_t c = from.words[y / 2 * SIDE + SIDE - 1 - x / 2];
            wanted[2 * SIDE * y + x] = (c & 0xff00ff00) | (c >> 16 & 0xff) | (c & 0xff) << 16;
        }
    }
    for (uint32_t i = 0; i < 108; i++) {
        rest[i] = i < 100 ? from.words[10 + i] : i < 104 ? 0xabcdef01 : update[i - 104];
    }
    const VkCommandBuffer commands = begin();
    layout(commands, small.image);
    layout(commands, large.image);
    vkCmdCopyBufferToImage(commands, from.buffer, small.image, VK_IMAGE_LAYOUT_GENERAL, 1, &up);
    barrier(commands);
    vkCmdBlitImage(commands, small.image, VK_IMAGE_LAYOUT_GENERAL, large.image, VK_IMAGE_LAYOUT_GENERAL, 1, &blit,
                   VK_FILTER_NEAREST);
    barrier(commands);
    vkCmdCopyImageToBuffer(commands, large.image, VK_IMAGE_LAYOUT_GENERAL, to.buffer, 1, &down);
    vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &part);
    vkCmdFillBuffer(commands, to.buffer, 8592, 16, 0xabcdef01);
    vkCmdUpdateBuffer(commands, to.buffer, 8608, 16, update);
    run(commands);
    return same("transfers", to.words, wanted, 4 * SIDE * SIDE) &&
           same("transfers (buffers)", to.words + 2048, rest, 108);
}

/* ---- draws ---- */

static VkRenderPass render_pass(uint32_t samples) {
    const bool many = samples > 1;
    const VkAttachmentDescription attachments[] = {
        {.format = VK_FORMAT_R8G8B8A8_UNORM,
         .samples = (VkSampleCountFlagBits)samples,
         .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
         .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
         .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
         .finalLayout = VK_IMAGE_LAYOUT_GENERAL},
        {.format = VK_FORMAT_R8G8B8A8_UNORM,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
         .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
         .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
         .finalLayout = VK_IMAGE_LAYOUT_GENERAL},
    };
    const VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_GENERAL}, resolve = {1, VK_IMAGE_LAYOUT_GENERAL};
    const VkSubpassDescription subpass = {
        .colorAttachmentCount = 1, .pColorAttachments = &color, .pResolveAttachments = many ? &resolve : NULL};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = many ? 2 : 1,
                                         .pAttachments = attachments,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass};
    VkRenderPass made;
    check(vkCreateRenderPass(device, &info, NULL, &made), "vkCreateRenderPass");
    return made;
}

static VkPipeline draw_pipeline(VkRenderPass pass, VkPipelineLayout pipeline_layout, uint32_t samples, uint32_t mask) {
    const VkPipelineShaderStageCreateInfo stages[] = {
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_VERTEX_BIT,
         .module = module(whole, sizeof whole),
         .pName = "main"},
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
         .module = module(color, sizeof color),
         .pName = "main"},
    };
    const VkPipelineVertexInputStateCreateInfo input = {.sType =
                                                            VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    const VkViewport viewport = {0, 0, SIDE, SIDE, 0, 1};
    const VkRect2D scissor = {{0, 0}, {SIDE, SIDE}};
    const VkPipelineViewportStateCreateInfo view = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                                                    .viewportCount = 1,
                                                    .pViewports = &viewport,
                                                    .scissorCount = 1,
                                                    .pScissors = &scissor};
    const VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1};
    const VkPipelineMultisampleStateCreateInfo multisample = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = (VkSampleCountFlagBits)samples,
        .pSampleMask = &mask};
    const VkPipelineColorBlendAttachmentState written = {.colorWriteMask = 15};
    const VkPipelineColorBlendStateCreateInfo blend = {.sType =
                                                           VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                       .attachmentCount = 1,
                                                       .pAttachments = &written};
    const VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                               .stageCount = 2,
                                               .pStages = stages,
                                               .pVertexInputState = &input,
                                               .pInputAssemblyState = &assembly,
                                               .pViewportState = &view,
                                               .pRasterizationState = &raster,
                                               .pMultisampleState = &multisample,
                                               .pColorBlendState = &blend,
                                               .layout = pipeline_layout,
                                               .renderPass = pass};
    VkPipeline made;
    check(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &made), "vkCreateGraphicsPipelines");
    return made;
}

/* Clear to 0 and draw white with a mask: the pixels, resolved, and the number of samples that passed. */
static void draw(uint32_t samples, uint32_t mask, uint32_t pixel[SIDE * SIDE], uint64_t *passed) {
    const bool many = samples > 1;
    const VkImageUsageFlags usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    const struct image drawn = new_image(VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, samples, usage);
    const struct image resolved = new_image(VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, 1, usage);
    const VkImageView views[] = {drawn.view, resolved.view};
    const VkRenderPass pass = render_pass(samples);
    const VkPushConstantRange push = {VK_SHADER_STAGE_FRAGMENT_BIT, 0, 16};
    const VkPipelineLayoutCreateInfo pipeline_layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                                        .pushConstantRangeCount = 1,
                                                        .pPushConstantRanges = &push};
    const VkFramebufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                          .renderPass = pass,
                                          .attachmentCount = many ? 2 : 1,
                                          .pAttachments = views,
                                          .width = SIDE,
                                          .height = SIDE,
                                          .layers = 1};
    const VkQueryPoolCreateInfo queries = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_OCCLUSION, .queryCount = 1};
    const VkClearValue clear = {0};
    const float white[4] = {1, 1, 1, 1};
    const VkBufferImageCopy copy = whole_image(SIDE, SIDE);
    const struct buffer read = new_buffer();
    VkPipelineLayout made;
    VkFramebuffer frame;
    VkQueryPool query;

    check(vkCreatePipelineLayout(device, &pipeline_layout, NULL, &made), "vkCreatePipelineLayout");
    check(vkCreateFramebuffer(device, &info, NULL, &frame), "vkCreateFramebuffer");
    check(vkCreateQueryPool(device, &queries, NULL, &query), "vkCreateQueryPool");
    const VkRenderPassBeginInfo start = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = pass,
                                         .framebuffer = frame,
                                         .renderArea = {{0, 0}, {SIDE, SIDE}},
                                         .clearValueCount = 1,
                                         .pClearValues = &clear};
    const VkCommandBuffer commands = begin();
    vkCmdResetQueryPool(commands, query, 0, 1);
    vkCmdBeginRenderPass(commands, &start, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, draw_pipeline(pass, made, samples, mask));
    vkCmdPushConstants(commands, made, VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof white, white);
    vkCmdBeginQuery(commands, query, 0, VK_QUERY_CONTROL_PRECISE_BIT);
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdEndQuery(commands, query, 0);
    vkCmdEndRenderPass(commands);
    barrier(commands);
    vkCmdCopyImageToBuffer(commands, many ? resolved.image : drawn.image, VK_IMAGE_LAYOUT_GENERAL, read.buffer, 1,
                           &copy);
    run(commands);
    check(vkGetQueryPoolResults(device, query, 0, 1, sizeof *passed, passed, sizeof *passed,
                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
          "vkGetQueryPoolResults");
    memcpy(pixel, read.words, SIDE * SIDE * sizeof pixel[0]);
}

/* Draw with each mask; every channel of every pixel must be that mask's share of 255. */
static bool masks(const char *name, uint32_t samples, const uint32_t mask[], const uint32_t share[], uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t found[SIDE * SIDE], wanted[SIDE * SIDE];
        uint64_t passed = 0;
        const uint64_t expected = (uint64_t)SIDE * SIDE * (uint32_t)__builtin_popcount(mask[i] & ((1u << samples) - 1));
        draw(samples, mask[i], found, &passed);
        for (uint32_t k = 0; k < SIDE * SIDE; k++) {
            wanted[k] = share[i] * 0x01010101u;
        }
        if (!same(name, found, wanted, SIDE * SIDE)) {
            return false;
        }
        if (passed != expected) {
            printf("%s: %llu samples passed with mask 0x%x\n", name, (unsigned long long)passed, mask[i]);
            return false;
        }
    }
    return true;
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    open_device();
    if (kernels()) {
        puts("kernels: right");
    }
    if (transfers()) {
        puts("transfers: right");
    }
    if (masks("masks", 1, (const uint32_t[]){1, 0, 2, 3}, (const uint32_t[]){255, 0, 0, 255}, 4)) {
        puts("masks: right");
    }
    if (masks("resolves", 4, (const uint32_t[]){15, 0, 5, 7}, (const uint32_t[]){255, 0, 128, 191}, 4)) {
        puts("resolves: right");
    }
    return 0;
}
